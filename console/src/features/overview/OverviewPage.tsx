import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function OverviewPage() {
  return (
    <Page title="Overview">
      <Loading />
    </Page>
  );
}
