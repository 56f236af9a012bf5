import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function ListingPage() {
  return (
    <Page title="Listing">
      <Loading />
    </Page>
  );
}
