export function ComposePage() {
  return <h1>Compose</h1>;
}
