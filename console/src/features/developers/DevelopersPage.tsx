import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function DevelopersPage() {
  return (
    <Page title="Developers">
      <Loading />
    </Page>
  );
}
