import { Button, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call, newIdempotencyKey } from "../../api.ts";
import { formatNumber } from "../../format.ts";
import { useAccount, useDenial } from "../../session.ts";
import { webhooksText as text } from "../../text/webhooks.ts";
import { FailureLine } from "../../ui/failure-panel.tsx";
import { ReasonedButton } from "../../ui/reasoned.tsx";
import { toast } from "../../ui/toasts.tsx";
import { useAction } from "../../use-action.ts";
import { askAgain } from "../../use-read.ts";
import classes from "./selection-bar.module.css";

type Props = { ids: string[]; onClear: () => void };

/** Actions on the selected rows; stays in view wherever those are in the list. */
export function SelectionBar({ ids, onClear }: Props) {
  return (
    <section className={classes["bar"]} aria-label={text.selection}>
      <Text span size="sm" fw={550} role="status">
        {text.selected(formatNumber(ids.length))}
      </Text>
      {/* Another selection is another request, with its own key. */}
      <ReplaySelected key={ids.join()} ids={ids} onDone={onClear} />
      <Button variant="subtle" size="xs" onClick={onClear}>
        {text.clearSelection}
      </Button>
    </section>
  );
}

function ReplaySelected({ ids, onDone }: { ids: string[]; onDone: () => void }) {
  const { accountId } = useAccount();
  const client = useQueryClient();
  const denial = useDenial("developer");
  const [idempotencyKey, setIdempotencyKey] = useState(newIdempotencyKey);
  const replay = useAction(async () => {
    const { total } = await call(
      "POST /console/accounts/{accountId}/replays",
      { params: { accountId }, body: { deliveryIds: ids } },
      { idempotencyKey },
    );
    if (total < ids.length)
      toast({ title: text.replayedSome(total, ids.length), message: text.replayedSomeHint });
    else if (total > 1) toast({ title: text.replayedAll(total), message: text.replayedAllHint });
    else toast({ title: text.replayed, message: text.replayedHint });
    askAgain(client, ["GET /console/accounts/{accountId}/webhook-deliveries"]);
    setIdempotencyKey(newIdempotencyKey());
  }, onDone);
  return (
    <>
      {replay.failure && (
        <div className={classes["failure"]}>
          <FailureLine failure={replay.failure} />
        </div>
      )}
      <ReasonedButton
        reason={denial}
        size="xs"
        loading={replay.isRunning}
        onClick={() => void replay.run(undefined)}
      >
        {text.replay}
      </ReasonedButton>
    </>
  );
}
