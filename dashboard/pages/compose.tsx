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
  const price = usePrice(compose, denial === undefined);
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
          {price.simulated && (
            <Endings
              recipient={price.simulated}
              onChoose={(recipient) => {
                fields.setFieldValue("recipient", recipient);
                fields.getInputNode("recipient")?.focus();
              }}
            />
          )}
          {!price.isPending && <AsCode message={message ?? sampleWith(fields.values.text)} />}
        </Stack>
      </Grid.Col>
    </Grid>
  );
}

function sampleWith(content: string): NewMessage {
  return { recipient: SAMPLE_RECIPIENT, text: content.trim() === "" ? SAMPLE_TEXT : content };
}

type EndingsProps = { recipient: string; onChoose: (recipient: string) => void };

/** A number per ending that takes the same route as the one typed: only the last digits differ. */
function Endings({ recipient, onChoose }: EndingsProps) {
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
            const number = `${recipient.slice(0, -digits.length)}${digits}`;
            return (
              <Table.Tr key={digits}>
                <Table.Th scope="row" fw={400} w={140}>
                  <Button
                    variant="default"
                    size="compact-xs"
                    className="mono"
                    aria-label={text.fillIn(number, ending)}
                    onClick={() => onChoose(number)}
                  >
                    {number}
                  </Button>
                </Table.Th>
                <Table.Td>{ending}</Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </Paper>
  );
}

function AsCode({ message }: { message: NewMessage }) {
  const { publicUrl } = useMe();
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
        samples={sendSamples(publicUrl, message)}
        copyLabel={text.copyIn}
      />
    </section>
  );
}
