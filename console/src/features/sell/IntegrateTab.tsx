import { useNetwork, useServedNetworks } from "@/api/networks";
import { useOwner } from "@/api/session";
import { PageLink, useAddressParameter } from "@/ui/address";
import { CodeBlock } from "@/ui/CodeBlock";
import { Section } from "@/ui/Page";
import { Tabs } from "@/ui/Tabs";
import styles from "./Sell.module.css";
import type { SellerProgram } from "./sellerPrograms";
import { SELLER_PROGRAMS, writeSettings } from "./sellerPrograms";

function Program({ program: { description, file, program, install, run, port } }: { program: SellerProgram }) {
  const owner = useOwner();
  const network = useNetwork();
  const served = useServedNetworks();
  const asset = served.find((each) => each.network === network)?.usdc.contract ?? "";
  const settings = { facilitator: window.location.origin, network, asset, payTo: owner?.address ?? "" };
  return (
    <div className={styles["sections"]}>
      <Section
        title="1. Settings"
        description={
          <>
            Your address receives the money: it needs a trustline for USDC. A key is made in{" "}
            <PageLink to="/developers">Developers</PageLink>.
          </>
        }
      >
        <CodeBlock name="the settings" code={writeSettings(settings)} />
      </Section>
      {install !== null && (
        <Section title="2. Packages" description="Use exactly these versions.">
          <CodeBlock name="the packages" code={install} isWrapped />
        </Section>
      )}
      <Section
        title={`${install === null ? 2 : 3}. ${file}`}
        description={description}
      >
        <CodeBlock name={`the program ${file}`} code={program} />
      </Section>
      <Section title={`${install === null ? 3 : 4}. Start it, and look at what a buyer sees`}>
        <CodeBlock name="the commands" code={`${run} &\ncurl -si 'http://127.0.0.1:${port}/forecast?city=Lisbon'`} />
      </Section>
    </div>
  );
}

/** For sellers who take payments in their own program, without the gateway. */
export function IntegrateTab() {
  const [language, setLanguage] = useAddressParameter("language", SELLER_PROGRAMS[0].id);
  return (
    <div className="stack">
      <p className="soft">
        Take payments in your own program: it asks this service to verify and to settle each one. What it received is
        listed in <PageLink to="/payments">Payments</PageLink>.
      </p>
      <Tabs
        name="Language"
        selected={language}
        onSelect={setLanguage}
        tabs={SELLER_PROGRAMS.map((each) => ({
          id: each.id,
          label: each.label,
          content: <Program program={each} />,
        }))}
      />
    </div>
  );
}
