import { Stack, Text } from "@mantine/core";
import goSample from "../../../docs/samples/verify_webhook.go?raw";
import nodeSample from "../../../docs/samples/verify-webhook.mjs?raw";
import phpSample from "../../../docs/samples/verify_webhook.php?raw";
import pythonSample from "../../../docs/samples/verify_webhook.py?raw";
import rubySample from "../../../docs/samples/verify_webhook.rb?raw";
import { verifyText as text } from "../../text/webhooks.ts";
import { CodeSamples } from "../../ui/code-samples.tsx";

/** The tested samples of the docs, verbatim. */
const SAMPLES = {
  Node: nodeSample,
  Python: pythonSample,
  PHP: phpSample,
  Go: goSample,
  Ruby: rubySample,
};

export function VerifySamples() {
  return (
    <Stack gap="md" maw="52rem">
      <Text size="sm">{text.lead}</Text>
      <CodeSamples label={text.title} samples={SAMPLES} copyLabel={text.copyIn} />
    </Stack>
  );
}
