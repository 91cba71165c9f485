import { Badge } from "@mantine/core";
import { answerInWords } from "../text/webhooks.ts";

/** The receiver's answer, or that there was none. */
export function AnswerBadge({ httpStatus }: { httpStatus: number | null }) {
  const isGood = httpStatus !== null && httpStatus >= 200 && httpStatus < 300;
  return (
    <Badge variant="dot" color={isGood ? "teal" : "red"}>
      {answerInWords(httpStatus)}
    </Badge>
  );
}
