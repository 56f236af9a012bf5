import type { ReactNode } from "react";
import type { Form } from "./form";
import { Problem } from "./PageState";

interface FormFrameProps<Values> {
  form: Form<Values>;
  /** What the form does, for screen readers. */
  name: string;
  children: ReactNode;
}

/** A form with what it failed for above its buttons. The page is never left by submitting it. */
export function FormFrame<Values>({ form, name, children }: FormFrameProps<Values>) {
  return (
    <form
      className="stack"
      aria-label={name}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void form.submit();
      }}
    >
      {form.failure !== null && <Problem error={form.failure} isSmall />}
      {children}
    </form>
  );
}
