import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function PaymentPage() {
  return (
    <Page title="Payment">
      <Loading />
    </Page>
  );
}
