import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import type { Schema } from "@/api/types";
import { PageLink } from "@/ui/address";
import { Answer } from "@/ui/Answer";
import { Button } from "@/ui/Button";
import { LoadMore } from "@/ui/LoadMore";
import { Menu } from "@/ui/Menu";
import { Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time } from "@/ui/Time";
import type { Secret } from "./VaultDialogs";
import { DeleteSecretDialog, PURPOSES, RotateSecretDialog, StoreSecretDialog } from "./VaultDialogs";

type Wrapper = Schema<"WrapperBody">;
type Open = { dialog: "store" } | { dialog: "rotate" | "delete"; secret: Secret } | null;

/** The wallet's wrappers by the secret that they send; the newest hundred. */
function useWrappersBySecret(): Map<string, Wrapper[]> {
  const { data } = useQuery({
    queryKey: [...keys.wrappers, "by-secret"],
    queryFn: ({ signal }) => call("GET /v1/wrappers", { query: { limit: 100 } }, { signal }),
  });
  const found = new Map<string, Wrapper[]>();
  for (const wrapper of data?.items ?? []) {
    if (wrapper.secretId !== null) found.set(wrapper.secretId, [...(found.get(wrapper.secretId) ?? []), wrapper]);
  }
  return found;
}

function UsedBy({ wrappers }: { wrappers: readonly Wrapper[] }) {
  if (wrappers.length === 0) return <span className="soft">no wrapper</span>;
  return (
    <span className="row">
      {wrappers.map((each) => (
        <PageLink key={each.id} to={`/sell/${encodeURIComponent(each.id)}`} className="foreign">
          {each.name}
        </PageLink>
      ))}
    </span>
  );
}

function columnsOf(users: Map<string, Wrapper[]>, open: (value: Open) => void): Column<Secret>[] {
  return [
    { id: "name", label: "Name", cell: (secret) => <strong className="foreign">{secret.name}</strong> },
    { id: "purpose", label: "Purpose", cell: (secret) => PURPOSES[secret.purpose] },
    { id: "users", label: "Used by", cell: (secret) => <UsedBy wrappers={users.get(secret.id) ?? []} /> },
    { id: "updated", label: "Value set", cell: (secret) => <Time at={secret.updatedAt} /> },
    { id: "created", label: "Created", cell: (secret) => <Time at={secret.createdAt} /> },
    {
      id: "actions",
      label: "Actions",
      isLabelHidden: true,
      align: "end",
      cell: (secret) => (
        <Menu
          name={`Actions for ${secret.name}`}
          items={[
            { label: "Rotate", onSelect: () => open({ dialog: "rotate", secret }) },
            {
              label: users.has(secret.id) ? "Delete (in use)" : "Delete",
              isDangerous: true,
              isDisabled: users.has(secret.id),
              onSelect: () => open({ dialog: "delete", secret }),
            },
          ]}
        />
      ),
    },
  ];
}

function VaultDialog({ open, onClose }: { open: Open; onClose: () => void }) {
  if (open === null) return null;
  switch (open.dialog) {
    case "store":
      return <StoreSecretDialog onClose={onClose} />;
    case "rotate":
      return <RotateSecretDialog secret={open.secret} onClose={onClose} />;
    case "delete":
      return <DeleteSecretDialog secret={open.secret} onClose={onClose} />;
  }
}

/** The secrets of the wallet's upstreams: store, rotate, delete. No value is ever shown. */
export function Vault() {
  const [open, setOpen] = useState<Open>(null);
  const users = useWrappersBySecret();
  const list = useCursorList<Secret>(keys.secrets, (cursor, signal) =>
    call("GET /v1/vault/secrets", { query: { limit: 100, ...(cursor ? { cursor } : {}) } }, { signal }),
  );
  const store = (
    <Button kind="primary" onClick={() => setOpen({ dialog: "store" })}>
      Store a secret
    </Button>
  );
  return (
    <Section
      title="Vault"
      description="Credentials of your APIs, encrypted. The gateway decrypts one for the request that it is sent with."
      actions={store}
    >
      <Answer
        query={list}
        name="the secrets"
        isEmpty={(data) => data.length === 0}
        empty={
          <Empty title="No secrets yet">
            Store the token of an API that you want to sell, then choose it in a wrapper.
          </Empty>
        }
      >
        {(data) => (
          <div className="stack">
            <Table name="Secrets" columns={columnsOf(users, setOpen)} rows={data} rowKey={(secret) => secret.id} />
            <LoadMore list={list} count={data.length} name="secrets" />
          </div>
        )}
      </Answer>
      <VaultDialog open={open} onClose={() => setOpen(null)} />
    </Section>
  );
}
