import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { call } from "@/api/client";
import { keys } from "@/api/keys";
import { Field, Select, TextArea } from "@/ui/Field";
import { Card, Section } from "@/ui/Page";
import styles from "./Sell.module.css";
import type { WrapperForm } from "./useWrapperForm";
import { METHODS } from "./wrapperDraft";

const WAIT_MS = 400;

/** The value after it has not changed for a while. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), WAIT_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** The slug that the service would derive from the name; empty while it is not known. */
function useSuggestedSlug(name: string, isWanted: boolean): string {
  const settled = useSettled(name.trim());
  const { data } = useQuery({
    queryKey: [...keys.wrappers, "slug", settled],
    queryFn: ({ signal }) => call("GET /v1/wrappers/slug", { query: { name: settled } }, { signal }),
    enabled: isWanted && settled !== "",
  });
  return settled === "" ? "" : (data?.slug ?? "");
}

function SlugField({ form, isNew }: { form: WrapperForm; isNew: boolean }) {
  const suggested = useSuggestedSlug(form.draft["name"] ?? "", isNew && form.draft["slug"] === "");
  const slug = form.draft["slug"] || suggested;
  return (
    <Field
      label="Slug"
      placeholder={suggested || "city-forecast"}
      readOnly={!isNew}
      maxLength={63}
      hint={
        <span className="foreign">
          Buyers pay at <code>/gateway/{slug || "…"}</code>.{" "}
          {isNew ? "Leave it empty to take it from the name. It never changes." : "It never changes."}
        </span>
      }
      {...form.field("slug")}
    />
  );
}

/** What is sold: the API, and how buyers find it. */
export function ApiFields({ form, isNew }: { form: WrapperForm; isNew: boolean }) {
  const methods = [
    { value: "", label: "All methods" },
    ...METHODS.map((each) => ({ value: each, label: `${each} only` })),
  ];
  return (
    <Section title="Your API" description="The gateway calls it after each payment. Buyers never see its URL.">
      <Card>
        <Field
          label="URL of your API"
          type="url"
          placeholder="https://api.example.com/forecast"
          maxLength={2048}
          hint="A public HTTPS URL. What a buyer writes behind the slug is appended to it."
          {...form.field("upstreamUrl")}
        />
        <div className={styles["pair"]}>
          <Field
            label="Name"
            placeholder="City forecast"
            maxLength={32}
            hint="As the catalog shows it."
            {...form.field("name")}
          />
          <SlugField form={form} isNew={isNew} />
        </div>
        <TextArea
          label="Description"
          rows={2}
          maxLength={500}
          placeholder="Tomorrow's weather of a city"
          hint={`What a call gives. The search reads it. ${(form.draft["description"] ?? "").length} of 500 characters.`}
          {...form.field("description")}
        />
        <Field
          label="Tags"
          placeholder="weather, cities"
          maxLength={180}
          hint="At most five, separated by commas."
          {...form.field("tags")}
        />
        <div className={styles["pair"]}>
          <Select
            label="Methods that are sold"
            options={methods}
            hint="A request by another method is refused before it is paid."
            {...form.field("method")}
          />
          <Field
            label="Type of the response"
            maxLength={120}
            hint="A media type, for the catalog."
            {...form.field("mimeType")}
          />
        </div>
      </Card>
    </Section>
  );
}
