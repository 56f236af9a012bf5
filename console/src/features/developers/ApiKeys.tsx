import { useState } from "react";
import { call } from "@/api/client";
import { useCursorList } from "@/api/cursorList";
import { keys } from "@/api/keys";
import { Answer } from "@/ui/Answer";
import { Badge } from "@/ui/Badge";
import { Button } from "@/ui/Button";
import { LoadMore } from "@/ui/LoadMore";
import { Menu } from "@/ui/Menu";
import { Section } from "@/ui/Page";
import { Empty } from "@/ui/PageState";
import type { Column } from "@/ui/Table";
import { Table } from "@/ui/Table";
import { Time, useNow } from "@/ui/Time";
import { CreateKeyDialog, IssuedKeyDialog, RevokeKeyDialog, RotateKeyDialog } from "./KeyDialogs";
import type { Key } from "./keyState";
import { stateOfKey } from "./keyState";
import styles from "./Developers.module.css";

type Open =
  | { dialog: "create" }
  | { dialog: "issued"; key: Key & { key: string } }
  | { dialog: "rotate" | "revoke"; key: Key }
  | null;

function KeyName({ apiKey }: { apiKey: Key }) {
  return (
    <span className={styles["name"]}>
      <strong className="foreign">{apiKey.name}</strong>
      <code className="soft">{apiKey.prefix}…</code>
    </span>
  );
}

function columnsOf(now: number, open: (value: Open) => void): Column<Key>[] {
  return [
    { id: "name", label: "Name", cell: (key) => <KeyName apiKey={key} /> },
    {
      id: "scopes",
      label: "Scopes",
      cell: (key) => (
        <span className="row">
          {key.scopes.map((scope) => (
            <Badge key={scope}>{scope}</Badge>
          ))}
        </span>
      ),
    },
    {
      id: "state",
      label: "State",
      cell: (key) => {
        const { label, tone } = stateOfKey(key, now);
        return <Badge tone={tone}>{label}</Badge>;
      },
    },
    { id: "used", label: "Last used", cell: (key) => <Time at={key.lastUsedAt} /> },
    { id: "expires", label: "Ends", cell: (key) => <Time at={key.revokedAt ?? key.expiresAt} /> },
    { id: "created", label: "Created", cell: (key) => <Time at={key.createdAt} /> },
    {
      id: "actions",
      label: "Actions",
      isLabelHidden: true,
      align: "end",
      cell: (key) =>
        stateOfKey(key, now).isWorking && (
          <Menu
            name={`Actions for ${key.name}`}
            items={[
              {
                label: "Rotate",
                isDisabled: key.replacedBy !== null,
                onSelect: () => open({ dialog: "rotate", key }),
              },
              { label: "Revoke", isDangerous: true, onSelect: () => open({ dialog: "revoke", key }) },
            ]}
          />
        ),
    },
  ];
}

function KeyDialog({ open, onOpen }: { open: Open; onOpen: (value: Open) => void }) {
  if (open === null) return null;
  const onClose = () => onOpen(null);
  const onIssued = (key: Key & { key: string }) => onOpen({ dialog: "issued", key });
  switch (open.dialog) {
    case "create":
      return <CreateKeyDialog onClose={onClose} onIssued={onIssued} />;
    case "issued":
      return <IssuedKeyDialog issued={open.key} onClose={onClose} />;
    case "rotate":
      return <RotateKeyDialog apiKey={open.key} onClose={onClose} onIssued={onIssued} />;
    case "revoke":
      return <RevokeKeyDialog apiKey={open.key} onClose={onClose} />;
  }
}

/** The API keys of the wallet: create, rotate, revoke. */
export function ApiKeys() {
  const [open, setOpen] = useState<Open>(null);
  const now = useNow();
  const list = useCursorList<Key>(keys.apiKeys, (cursor, signal) =>
    call("GET /v1/api-keys", { query: { limit: 100, ...(cursor ? { cursor } : {}) } }, { signal }),
  );
  const create = (
    <Button kind="primary" onClick={() => setOpen({ dialog: "create" })}>
      Create a key
    </Button>
  );
  return (
    <Section
      title="API keys"
      description="A program acts for your wallet with a key, on the routes that its scopes name. It pays nothing with it."
      actions={create}
    >
      <Answer
        query={list}
        name="the API keys"
        isEmpty={(data) => data.length === 0}
        empty={
          <Empty title="No keys yet">
            Create one for each program, with no more scopes than it needs. Then each can be revoked by itself.
          </Empty>
        }
      >
        {(data) => (
          <div className="stack">
            <Table name="API keys" columns={columnsOf(now, setOpen)} rows={data} rowKey={(key) => key.id} />
            <LoadMore list={list} count={data.length} name="keys" />
          </div>
        )}
      </Answer>
      <KeyDialog open={open} onOpen={setOpen} />
    </Section>
  );
}
