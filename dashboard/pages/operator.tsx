export function OperatorPage() {
  return <h1>Operator</h1>;
}
