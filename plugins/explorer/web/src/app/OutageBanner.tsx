import { useQueryClient } from "@tanstack/react-query";
import { CloudOff } from "lucide-react";
import { useEffect } from "react";
import { Button } from "react-aria-components";

import { wakeStreams } from "../live/stream";
import { onRecovery, tryNow, useOutage } from "./outage";

/** Says that the service is away; when it is back, everything is read anew by itself. */
export function OutageBanner() {
  const { isOut } = useOutage();
  const client = useQueryClient();
  useEffect(
    () =>
      onRecovery(() => {
        void client.invalidateQueries();
        wakeStreams();
      }),
    [client],
  );
  return (
    <div role="status" className={isOut ? "outage" : "outage outage-none"}>
      {isOut && (
        <>
          <CloudOff size={16} aria-hidden />
          <span>
            The service does not answer. What you see may be old; what you have written is kept. It
            is tried again by itself.
          </span>
          <Button className="button button-small" onPress={tryNow}>
            Try now
          </Button>
        </>
      )}
    </div>
  );
}
