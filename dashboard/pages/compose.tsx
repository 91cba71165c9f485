import { Button, Grid, Paper, Stack, Table, Text, Title } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Suspense } from "react";
import type { NewMessage } from "#contract";
import { part } from "../parts.ts";
import { sendSamples, SAMPLE_RECIPIENT, SAMPLE_TEXT } from "../samples.ts";
import { useAccount, useDenial, useMe } from "../session.ts";
import { composeText as text, ENDINGS } from "../text/compose.ts";
import { CodeSamples } from "../ui/code-samples.tsx";
import { Page } from "../ui/page.tsx";
import { useComposeFields } from "./compose/compose-fields.ts";
import { ComposeForm } from "./compose/compose-form.tsx";
import { Counter } from "./compose/counter.tsx";
import { usePrice } from "./compose/use-price.ts";

/** Loaded when a message is sent. */
const SentMessage = part(() => import("./compose/sent-message.tsx"), "SentMessage");

export function ComposePage() {
  const { name } = useAccount();
  const { sent } = useSearch({ from: "/signed-in/compose" });
  return (
    <Page title={text.title} about={name} lead={text.lead} hasTimes={sent !== undefined}>
      <Suspense>{sent ? <SentMessage messageId={sent} /> : <Composer />}</Suspense>
    </Page>
  );
}

function Composer() {
  const navigate = useNavigate({ from: "/compose" });
  const compose = useComposeFields();
  const { fields, message } = compose;
  const denial = useDenial("developer");
  const price = usePrice(message, denial === undefined);
  return (
    <Grid gap="xl">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <ComposeForm
          compose={compose}
          price={price}
          onSent={(messageId) => void navigate({ search: { sent: messageId } })}
        />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Stack gap="lg">
          <Counter
            content={fields.values.text}
            price={price}
            failure={fields.general(price.failure)}
            denial={denial}
            onReplace={(content) => fields.setFieldValue("text", content)}
          />
          {price.carrier?.kind === "simulator" && (
            <Endings onChoose={(recipient) => fields.setFieldValue("recipient", recipient)} />
          )}
          <AsCode message={message} />
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

/** A number for each, which takes the same way as that of the samples. */
function Endings({ onChoose }: { onChoose: (recipient: string) => void }) {
  return (
    <Paper withBorder p="md" component="section" aria-label={text.simulator}>
      <Title order={2} size="h5">
        {text.simulator}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {text.simulatorHint}
      </Text>
      <Table withRowBorders={false} verticalSpacing={2} horizontalSpacing={0} fz="sm">
        <Table.Tbody>
          {ENDINGS.map(([digits, ending]) => {
            const recipient = `${SAMPLE_RECIPIENT.slice(0, -digits.length)}${digits}`;
            return (
              <Table.Tr key={digits}>
                <Table.Td w={140}>
                  <Button
                    variant="default"
                    size="compact-xs"
                    className="mono"
                    onClick={() => onChoose(recipient)}
                  >
                    {recipient}
                  </Button>
                </Table.Td>
                <Table.Td>{ending}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function AsCode({ message }: { message: NewMessage | undefined }) {
  const { publicUrl } = useMe();
  const fields = message ?? { recipient: SAMPLE_RECIPIENT, text: SAMPLE_TEXT };
  return (
    <section aria-label={text.asCode}>
      <Title order={2} size="h5">
        {text.asCode}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {text.asCodeHint}
      </Text>
      <CodeSamples
        label={text.asCode}
        samples={sendSamples(publicUrl, fields)}
        copyLabel={text.copyIn}
      />
    </section>
  );
}
