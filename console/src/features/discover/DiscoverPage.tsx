import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function DiscoverPage() {
  return (
    <Page title="Discover">
      <Loading />
    </Page>
  );
}
