import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function SkillsPage() {
  return (
    <Page title="Skills">
      <Loading />
    </Page>
  );
}
