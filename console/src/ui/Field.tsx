import { useId } from "react";
import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from "react";
import styles from "./Field.module.css";
import { joinClasses } from "./joinClasses";

interface FieldFrame {
  label: ReactNode;
  /** Whether the label stands beside the input, as over a list. */
  isInline?: boolean;
  hint?: ReactNode;
  error?: string | undefined;
}

interface FrameProps extends FieldFrame {
  id: string;
  children: ReactNode;
}

function Frame({ id, label, isInline = false, hint, error, children }: FrameProps) {
  return (
    <div className={joinClasses(styles["field"], isInline && styles["inline"])}>
      <label className={styles["label"]} htmlFor={id}>
        {label}
      </label>
      {children}
      {hint !== undefined && (
        <p className={styles["hint"]} id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p className={styles["error"]} id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

const describe = (id: string, { hint, error }: FieldFrame) => ({
  id,
  className: styles["input"],
  "aria-invalid": error !== undefined || undefined,
  "aria-describedby":
    joinClasses(hint !== undefined && `${id}-hint`, error !== undefined && `${id}-error`) || undefined,
});

type Controlled<Base> = Omit<Base, "onChange" | "value" | "id"> & {
  value: string;
  onChange: (value: string) => void;
};

type FieldProps = FieldFrame &
  Controlled<InputHTMLAttributes<HTMLInputElement>> & { /** Stands behind the input. */ unit?: ReactNode };

/** A one-line text input with its label, hint and error. */
export function Field({ label, hint, error, unit, value, onChange, ...rest }: FieldProps) {
  const id = useId();
  const input = (
    <input
      autoComplete="off"
      spellCheck={false}
      {...rest}
      {...describe(id, { label, hint, error })}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      {unit === undefined ? (
        input
      ) : (
        <div className={styles["withUnit"]}>
          {input}
          <span className={styles["unit"]}>{unit}</span>
        </div>
      )}
    </Frame>
  );
}

type TextAreaProps = FieldFrame & Controlled<TextareaHTMLAttributes<HTMLTextAreaElement>>;

/** A text input of several lines. */
export function TextArea({ label, hint, error, value, onChange, ...rest }: TextAreaProps) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint} error={error}>
      <textarea
        spellCheck={false}
        {...rest}
        {...describe(id, { label, hint, error })}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </Frame>
  );
}

export interface Option {
  value: string;
  label: string;
  isDisabled?: boolean;
}

type SelectProps = FieldFrame &
  Controlled<SelectHTMLAttributes<HTMLSelectElement>> & { options: readonly Option[] };

/** The browser's own select: it works with every keyboard, screen reader and phone. */
export function Select({ label, isInline, hint, error, value, onChange, options, ...rest }: SelectProps) {
  const id = useId();
  return (
    <Frame id={id} label={label} isInline={isInline ?? false} hint={hint} error={error}>
      <select
        {...rest}
        {...describe(id, { label, hint, error })}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((each) => (
          <option key={each.value} value={each.value} disabled={each.isDisabled}>
            {each.label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

interface CheckboxProps {
  label: ReactNode;
  hint?: ReactNode;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  disabled?: boolean;
}

export function Checkbox({ label, hint, isChecked, onChange, disabled = false }: CheckboxProps) {
  const id = useId();
  return (
    <label className={styles["check"]} htmlFor={id}>
      <input
        id={id}
        type="checkbox"
        checked={isChecked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span className={styles["hint"]}> {hint}</span>}
      </span>
    </label>
  );
}

/** Several inputs under one name. */
export function FieldGroup({ label, error, children }: FieldFrame & { children: ReactNode }) {
  return (
    <fieldset className={styles["group"]}>
      <legend className={styles["label"]}>{label}</legend>
      {children}
      {error !== undefined && <p className={styles["error"]}>{error}</p>}
    </fieldset>
  );
}
