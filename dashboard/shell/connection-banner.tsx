import { VisuallyHidden } from "@mantine/core";
import { useNetwork } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { formatTime } from "../format.ts";
import { meOptions } from "../session.ts";
import { words } from "../text/words.ts";
import { useZone } from "../ui/zone.tsx";
import classes from "./shell.module.css";

/** Says that what is shown may be old: of a page whose stream is off since then, or undefined while it is on. */
export function ConnectionBanner({ silentSince }: { silentSince: number | undefined }) {
  const text = useConnectionTrouble(silentSince);
  if (text === undefined) return <VisuallyHidden role="status" />;
  return (
    <div role="status" className={classes["banner"]}>
      {text}
    </div>
  );
}

function useConnectionTrouble(silentSince: number | undefined): string | undefined {
  const { online } = useNetwork();
  const zone = useZone();
  // Asked again by each poll, so it tells whether those still get answers.
  const { isError, dataUpdatedAt } = useQuery(meOptions);
  if (!online) return words.offline;
  if (silentSince === undefined) return undefined;
  if (!isError) return words.liveOff;
  const at = new Date(Math.max(silentSince, dataUpdatedAt)).toISOString();
  return words.noAnswer(formatTime(at, zone));
}
