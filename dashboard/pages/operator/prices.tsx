export function PricesPage() {
  return <h1>Prices</h1>;
}
