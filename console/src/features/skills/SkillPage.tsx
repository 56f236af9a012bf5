import { Page } from "@/ui/Page";
import { Loading } from "@/ui/PageState";

export function SkillPage() {
  return (
    <Page title="Skill">
      <Loading />
    </Page>
  );
}
