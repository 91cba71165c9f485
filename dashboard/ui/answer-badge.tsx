import { Badge } from "@mantine/core";
import { answerInWords } from "../text/webhooks.ts";

/** What a receiver answered, or that it did not. */
export function AnswerBadge({ httpStatus }: { httpStatus: number | null }) {
  const isGood = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
  return (
    <Badge variant="dot" color={isGood ? "teal" : "red"}>
      {answerInWords(httpStatus)}
    </Badge>
  );
}
