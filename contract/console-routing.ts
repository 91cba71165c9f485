import { Type } from "typebox";
import { consoleOperation, OPERATOR } from "./console-operation.ts";
import { closed, Id, nullable } from "./schema.ts";

const Prefix = Type.String({
  pattern: "^[0-9]{0,15}$",
  description: "The first digits of a number, at most 15, or empty for all others.",
});
const CarrierRef = Type.Object({ carrierId: Id, name: Type.String() });
const Route = Type.Object({ prefix: Type.String(), carriers: Type.Array(CarrierRef) });
const Price = Type.Object({ prefix: Type.String(), credits: Type.Integer() });
const routingVersion = Type.Integer({
  description: "Of routes and prices together; sent back with a change.",
});
const Routes = Type.Object({ data: Type.Array(Route), version: routingVersion });
const Prices = Type.Object({ data: Type.Array(Price), version: routingVersion });
const byPrefix = closed({ prefix: Prefix, version: Type.Optional(Type.Integer()) });
const byRecipient = closed({ recipient: Type.String({ maxLength: 20 }) });

/** Which carrier serves a recipient, and at what price. */
export const routingOperations = {
  listRoutes: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/routes`,
    summary: "List routes by prefix",
    access: "operator",
    success: { status: 200, body: Routes },
  }),
  setRoute: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/routes`,
    summary: "Set the carriers of a prefix, in order of preference",
    access: "operator",
    audit: "route.set",
    body: closed(
      {
        prefix: Prefix,
        carrierIds: Type.Array(Type.String(), { minItems: 1, maxItems: 10 }),
        version: Type.Optional(Type.Integer()),
      },
      { examples: [{ prefix: "33", carrierIds: ["01900000-0000-7000-8000-000000000001"] }] },
    ),
    success: { status: 200, body: Routes },
    errors: ["VERSION_CONFLICT"],
  }),
  removeRoute: consoleOperation({
    method: "DELETE",
    path: `${OPERATOR}/routes`,
    summary: "Remove the route of a prefix",
    access: "operator",
    audit: "route.removed",
    query: byPrefix,
    success: { status: 200, body: Routes },
    errors: ["PREFIX_NOT_FOUND", "VERSION_CONFLICT"],
  }),
  findRoute: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/routes/find`,
    summary: "Which carriers a number would be handed to",
    access: "operator",
    query: byRecipient,
    success: {
      status: 200,
      body: Type.Object({
        recipient: Type.String(),
        prefix: nullable(Type.String()),
        carriers: Type.Array(CarrierRef),
      }),
    },
  }),
  listPrices: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/prices`,
    summary: "List prices by prefix",
    access: "operator",
    success: { status: 200, body: Prices },
  }),
  setPrice: consoleOperation({
    method: "POST",
    path: `${OPERATOR}/prices`,
    summary: "Set the credits per segment of a prefix",
    access: "operator",
    audit: "price.set",
    body: closed(
      {
        prefix: Prefix,
        credits: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
        version: Type.Optional(Type.Integer()),
      },
      { examples: [{ prefix: "33", credits: 2 }] },
    ),
    success: { status: 200, body: Prices },
    errors: ["VERSION_CONFLICT"],
  }),
  removePrice: consoleOperation({
    method: "DELETE",
    path: `${OPERATOR}/prices`,
    summary: "Remove the price of a prefix",
    access: "operator",
    audit: "price.removed",
    query: byPrefix,
    success: { status: 200, body: Prices },
    errors: ["PREFIX_NOT_FOUND", "VERSION_CONFLICT"],
  }),
  findPrice: consoleOperation({
    method: "GET",
    path: `${OPERATOR}/prices/find`,
    summary: "What a segment to a number costs",
    access: "operator",
    query: byRecipient,
    success: {
      status: 200,
      body: Type.Object({
        recipient: Type.String(),
        prefix: nullable(Type.String()),
        credits: Type.Integer(),
      }),
    },
  }),
};
