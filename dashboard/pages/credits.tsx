export function CreditsPage() {
  return <h1>Credits</h1>;
}
