import { useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import type { NetworkState } from "@/api/networks";
import { networksQuery, useNetwork } from "@/api/networks";
import { useOwner } from "@/api/session";
import { PageLink, useGo } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { buttonClasses } from "@/ui/Button";
import { Page } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import { announce } from "@/ui/toast";
import { useWrapperForm } from "./useWrapperForm";
import { fieldsOf } from "./wrapperBody";
import { newDraft } from "./wrapperDraft";
import { WrapperFormView } from "./WrapperFormView";
import { wrapperPath } from "./wrapperPath";

function NewWrapperForm({ network }: { network: NetworkState }) {
  const go = useGo();
  const client = useQueryClient();
  const owner = useOwner();
  const form = useWrapperForm({
    initial: newDraft(network.network, network.usdc.contract, owner?.address ?? ""),
    submit: (draft, tokenOf) => {
      const slug = (draft["slug"] ?? "").trim();
      return call(
        "POST /v1/wrappers",
        { body: { ...fieldsOf(draft, tokenOf), ...(slug === "" ? {} : { slug }) } },
        { deadlineSeconds: 40 },
      );
    },
    onDone: (wrapper) => {
      client.setQueryData([...keys.wrappers, "one", wrapper.id], wrapper);
      void client.invalidateQueries({ queryKey: keys.wrappers });
      announce(`Created “${wrapper.name}”. Check it, then enable it.`, "good");
      go(wrapperPath(wrapper.id));
    },
  });
  return (
    <WrapperFormView
      form={form}
      stored={null}
      name="New wrapper"
      verb="Create the wrapper"
      cancel={
        <PageLink to="/sell" className={buttonClasses()}>
          Cancel
        </PageLink>
      }
    />
  );
}

/** The form of a new wrapper. It starts disabled: nobody can buy it before it is enabled. */
export function NewWrapperPage() {
  const query = useQuery(networksQuery);
  const network = useNetwork();
  return (
    <Page
      title="New wrapper"
      description="Put a price on an API that you have. It starts disabled: you check it first, then you enable it."
    >
      <Answer
        query={query}
        name="the networks"
        isEmpty={({ networks }) => !networks.some((each) => each.isServed)}
        empty={<Empty title="This service serves no network">Ask its operator to configure one.</Empty>}
      >
        {({ networks }) => {
          const served = networks.filter((each) => each.isServed);
          const own = served.find((each) => each.network === network) ?? served[0];
          return own && <NewWrapperForm network={own} />;
        }}
      </Answer>
    </Page>
  );
}
