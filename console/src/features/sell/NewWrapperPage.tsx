import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function NewWrapperPage() {
  return (
    <Page title="NewWrapper">
      <Loading />
    </Page>
  );
}
