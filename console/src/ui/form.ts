import { useRef, useState } from "react";

export type Errors<Values> = Partial<Record<keyof Values, string>>;

interface FormOptions<Values, Result> {
  initial: Values;
  /** Says what is wrong with the values; an empty object when nothing is. */
  validate?: (values: Values) => Errors<Values>;
  /** Sends the values. It is called once for each click that passed the validation. */
  submit: (values: Values) => Promise<Result>;
  onDone?: (result: Result) => void;
}

export interface Form<Values> {
  values: Values;
  errors: Errors<Values>;
  /** What `submit` threw; the values stay as they are. */
  failure: unknown;
  isPending: boolean;
  set: <Name extends keyof Values>(name: Name, value: Values[Name]) => void;
  /** Returns the properties of a field whose value is a text. */
  field: (name: keyof Values) => { value: string; onChange: (value: string) => void; error: string | undefined };
  submit: () => Promise<void>;
  reset: (values?: Values) => void;
}

const isClean = (errors: object): boolean => Object.values(errors).every((each) => each === undefined);

/** Removes the names whose error is undefined. */
const cleaned = <Values>(errors: Errors<Values>): Errors<Values> =>
  Object.fromEntries(Object.entries(errors).filter(([, text]) => text !== undefined)) as Errors<Values>;

/**
 * The state of a form. A second click while one is under way does nothing, and a failure changes
 * no value. Errors are shown after the first attempt and go as the values are put right.
 */
export function useForm<Values extends object, Result>(options: FormOptions<Values, Result>): Form<Values> {
  const [values, setValues] = useState(options.initial);
  const [hasTried, setTried] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const [isPending, setPending] = useState(false);
  const underWay = useRef(false);
  const found = cleaned(options.validate?.(values) ?? {});
  const errors = hasTried ? found : {};

  const set = <Name extends keyof Values>(name: Name, value: Values[Name]) =>
    setValues((before) => ({ ...before, [name]: value }));

  const submit = async () => {
    if (underWay.current) return;
    setTried(true);
    if (!isClean(found)) {
      focusFirstError();
      return;
    }
    underWay.current = true;
    setPending(true);
    setFailure(null);
    try {
      const result = await options.submit(values);
      options.onDone?.(result);
    } catch (error) {
      setFailure(error);
    } finally {
      underWay.current = false;
      setPending(false);
    }
  };

  return {
    values,
    errors,
    failure,
    isPending,
    set,
    field: (name) => ({
      value: String(values[name] ?? ""),
      onChange: (value) => set(name, value as Values[typeof name]),
      error: (errors as Errors<Values>)[name],
    }),
    submit,
    reset: (next = options.initial) => {
      setValues(next);
      setTried(false);
      setFailure(null);
    },
  };
}

/** Moves the focus to the first field with an error once it is marked. */
function focusFirstError(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
