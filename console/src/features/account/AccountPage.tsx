import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function AccountPage() {
  return (
    <Page title="Account">
      <Loading />
    </Page>
  );
}
