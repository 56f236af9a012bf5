import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function SellPage() {
  return (
    <Page title="Sell">
      <Loading />
    </Page>
  );
}
