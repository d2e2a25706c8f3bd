"""Sessions of different credentials know the services by one reading of their models."""

from __future__ import annotations

from finops.providers.aws.session import Access, client, new_session


def test_models_are_read_once_and_credentials_stay_apart() -> None:
    made = [
        new_session(aws_access_key_id=name, aws_secret_access_key=name, region_name="us-east-1")
        for name in ("one", "two")
    ]
    first, second = (
        client(session, Access(endpoint_url="http://localhost:9"), "sts", region="us-east-1")
        for session in made
    )
    loaders = [session._session.get_component("data_loader") for session in made]
    assert loaders[0] is loaders[1]
    assert len(set(loaders[0].search_paths)) == len(loaders[0].search_paths)
    keys = [session.get_credentials().access_key for session in made]
    assert keys == ["one", "two"]
    assert first.meta.service_model.operation_names == second.meta.service_model.operation_names
