import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function PaymentsPage() {
  return (
    <Page title="Payments">
      <Loading />
    </Page>
  );
}
