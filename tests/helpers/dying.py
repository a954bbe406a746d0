"""A task that ends the process it runs in, in a module that takes no time to import there."""

import os


def is_first(folder):
    """Whether nobody has asked this before; of several at a time one is the first."""
    try:
        os.close(os.open(os.path.join(folder, "dead"), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def once(content, k, always):
    """Ends the first process, or each, that is not home; else the number, and where it was."""
    folder, home = content
    if os.getpid() != home and (is_first(folder) or always):
        os._exit(1)
    return k, os.getpid()
