import { act, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Button } from "./Button";
import { Field } from "./Field";
import { useForm } from "./form";
import { FormFrame } from "./FormFrame";

afterEach(() => {
  document.body.innerHTML = "";
});

type Submit = (values: { name: string }) => Promise<void>;

function NameForm({ submit }: { submit: Submit }) {
  const form = useForm({
    initial: { name: "" },
    validate: ({ name }) => ({ name: name.length < 2 ? "Two characters at least." : undefined }),
    submit,
  });
  return (
    <FormFrame form={form} name="A name">
      <Field label="Name" {...form.field("name")} />
      <Button type="submit" isPending={form.isPending}>
        Save
      </Button>
    </FormFrame>
  );
}

const type = (text: string) => fireEvent.change(screen.getByLabelText("Name"), { target: { value: text } });
const save = () => act(async () => fireEvent.submit(screen.getByRole("form")));

test("a form sends nothing that is not valid, and says what is wrong with it", async () => {
  const submit = vi.fn<Submit>(async () => {});
  render(<NameForm submit={submit} />);
  expect(screen.queryByText("Two characters at least.")).toBeNull();
  await save();
  expect(screen.getByText("Two characters at least.")).toBeTruthy();
  expect(screen.getByLabelText("Name").getAttribute("aria-invalid")).toBe("true");
  expect(submit).not.toHaveBeenCalled();
  type("ok");
  expect(screen.queryByText("Two characters at least.")).toBeNull();
});

test("a form is sent once however often it is submitted while it is under way", async () => {
  const finishes: (() => void)[] = [];
  const submit = vi.fn<Submit>(() => new Promise((resolve) => finishes.push(resolve)));
  render(<NameForm submit={submit} />);
  type("twice");
  await save();
  await save();
  await save();
  expect(submit).toHaveBeenCalledTimes(1);
  await act(async () => finishes[0]?.());
  await save();
  expect(submit).toHaveBeenCalledTimes(2);
});

test("a failure keeps the values and shows the request id to quote", async () => {
  const failure = { status: 409, code: "name_taken", message: "The name is taken.", requestId: "abc1", retryAfterSeconds: null };
  render(<NameForm submit={() => Promise.reject(failure)} />);
  type("kept");
  await save();
  expect(screen.getByRole("alert").textContent).toContain("The name is taken.");
  expect(screen.getByText("abc1")).toBeTruthy();
  expect(screen.getByLabelText<HTMLInputElement>("Name").value).toBe("kept");
});
