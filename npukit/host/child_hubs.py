"""Runs in a child of `npukit env`, as `python -c TEXT hubs LIMIT_S NAME=URL...`: asks all endpoints at once.

One JSON object a line as each answers; a name service that hangs takes only this child with it.
"""

import json
import sys
import threading
import time
import urllib.error
import urllib.request


def ask(name, url, limit_s):
    started = time.perf_counter()
    facts = {"hub": name, "status": None, "error": ""}
    try:
        request = urllib.request.Request(url, method="HEAD", headers={"User-Agent": "npukit"})
        with urllib.request.urlopen(request, timeout=limit_s) as answer:
            facts["status"] = answer.status
    except urllib.error.HTTPError as error:
        facts["status"] = error.code
        error.close()
    except (OSError, ValueError) as error:
        facts["error"] = str(getattr(error, "reason", error) or type(error).__name__)[:200]
    facts["seconds"] = round(time.perf_counter() - started, 2)
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


def main(limit_s, hubs):
    asking = [threading.Thread(target=ask, args=(*hub.split("=", 1), limit_s), daemon=True) for hub in hubs]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(limit_s)


main(float(sys.argv[2]), sys.argv[3:])
