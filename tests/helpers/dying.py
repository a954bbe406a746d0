"""A task that ends the process it runs in, in a module that takes no time to import there."""

import os


def once(content, k, always):
    """Ends the first process, or each, that is not home; else the number, and where it was."""
    folder, home = content
    dead = os.path.join(folder, "dead")
    if os.getpid() != home and (always or not os.path.exists(dead)):
        open(dead, "w").close()
        os._exit(1)
    return k, os.getpid()
