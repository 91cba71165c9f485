export function RoutesPage() {
  return <h1>Routes</h1>;
}
