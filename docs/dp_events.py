"""Turns dp_accounting's events into JSON that tollgate reads, and back.

    text = json.dumps(to_json(event))           # tollgate budget compose --dp-events FILE --delta 1e-6
    event = from_json(json.loads(text))         # of tollgate budget compose --print-dp-events
"""
import dp_accounting


def to_json(x):
    if isinstance(x, dp_accounting.DpEvent):
        x = x.to_named_tuple()
    if hasattr(x, "_fields"):
        return {name: to_json(value) for name, value in x._asdict().items()}
    return [to_json(value) for value in x] if isinstance(x, (list, tuple)) else x


def from_json(x):
    if isinstance(x, list):
        return [from_json(value) for value in x]
    if not isinstance(x, dict):
        return x
    if x["module_name"] != "dp_accounting.dp_event":  # what dp_accounting has no class for
        return dp_accounting.UnsupportedDpEvent()
    fields = {name: from_json(value) for name, value in x.items() if name not in ("module_name", "class_name")}
    return getattr(dp_accounting.dp_event, x["class_name"])(**fields)
