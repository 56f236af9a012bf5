import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function WrapperPage() {
  return (
    <Page title="Wrapper">
      <Loading />
    </Page>
  );
}
