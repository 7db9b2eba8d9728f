# SPDX-License-Identifier: BSD-3-Clause
"""Wait until the scheduler at an address sees workers of some names; says which it does not see."""

import sys
import time

from distributed import Client, Security

address, patience_s, tls, wanted = sys.argv[1], float(sys.argv[2]), sys.argv[3], set(sys.argv[4:])
security = Security(
    require_encryption=True,
    tls_ca_file=f"{tls}/ca.crt",
    tls_client_cert=f"{tls}/host.crt",
    tls_client_key=f"{tls}/host.key",
)
with Client(address, security=security, timeout=patience_s, set_as_default=False) as client:
    end = time.monotonic() + patience_s
    while True:
        seen = {str(worker["name"]) for worker in client.scheduler_info(n_workers=-1)["workers"].values()}
        if wanted <= seen:
            print(*sorted(wanted))
            break
        if time.monotonic() > end:
            sys.exit(f"the scheduler at {address} does not see: {', '.join(sorted(wanted - seen))}")
        time.sleep(0.2)
