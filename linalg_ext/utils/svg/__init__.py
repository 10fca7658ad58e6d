"""Pictures as SVG, of plain data: graphs in layers, and lines over an axis.

They carry their own style, which goes by the colours of the page around them (`--ink`, `--paper`)
where that has some, and by those of the browser where it has none.
"""
