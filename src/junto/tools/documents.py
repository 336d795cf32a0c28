"""Documents as resources."""

import json

from junto.domain.errors import NotFoundError
from junto.knowledge.library import Library
from junto.tools.knowledge import FetchedDocument
from junto.tools.resources import Template
from junto.tools.tool import LOCAL_CALLER

_SCHEME = "document://"
# As addresses of what lies nowhere else are written in results.
_OWN = "junto://document/"


def document_template(library: Library) -> Template:
    """Return the resources that show documents, page by page."""

    async def read(uri: str) -> str | None:
        if not uri.startswith((_SCHEME, _OWN)):
            return None
        try:
            page = await library.page(LOCAL_CALLER, uri)
        except NotFoundError:
            return None
        id_ = uri.removeprefix(_SCHEME).removeprefix(_OWN)
        return json.dumps(FetchedDocument.of(page, id_).facts(), indent=2, ensure_ascii=False)

    return Template(
        uri_template=f"{_SCHEME}{{id}}",
        name="document",
        title="Document",
        description="A document that was indexed, or a note.",
        read=read,
    )
