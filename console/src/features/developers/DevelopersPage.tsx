import { useAddressParameter } from "@/ui/address";
import { Page } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import { ApiKeys } from "./ApiKeys";
import { Examples } from "./Examples";
import { Usage } from "./Usage";
import { Vault } from "./Vault";

/** Keys, secrets, usage and requests to copy: for those who write programs against the service. */
export function DevelopersPage() {
  const [tab, setTab] = useAddressParameter("tab", "keys");
  return (
    <Page title="Developers" description="Keys for your programs, credentials for your APIs, and what they were used for.">
      <Tabs
        name="Developers"
        selected={tab}
        onSelect={setTab}
        tabs={[
          { id: "keys", label: "API keys", content: <ApiKeys /> },
          { id: "vault", label: "Vault", content: <Vault /> },
          { id: "usage", label: "Usage", content: <Usage /> },
          { id: "examples", label: "Examples", content: <Examples /> },
        ]}
      />
    </Page>
  );
}
