import { type FormErrors, useForm, type UseFormReturnType } from "@mantine/form";
import { type Failure, fieldErrors } from "../failure.ts";
import type { Outcome } from "../use-action.ts";

export type Checks<Values> = {
  [Name in keyof Values]?: (value: Values[Name], all: Values) => string | null;
};

export type Fields<Values extends Record<string, unknown>> = UseFormReturnType<Values> & {
  /**
   * Sends the form; with a wrong field the focus goes to the first of them. What the server says of fields,
   * where `send` answers with a failure, is put there.
   */
  submit: (
    send: (values: Values) => void | Promise<Outcome<unknown> | undefined>,
  ) => (event?: React.SubmitEvent<HTMLFormElement>) => void;
  /** Puts what the server says at the fields. */
  take: (failure: Failure) => void;
  /** The failure, unless it was all told at the fields: also when they have been changed since. */
  general: (failure: Failure | undefined) => Failure | undefined;
};

/** The fields of a form, their checks, and where the focus goes when one of them is wrong. */
export function useFields<Values extends Record<string, unknown>>(
  initialValues: Values,
  checks: Checks<Values>,
  /** Those that the page shows: what is wrong with others is told in general. */
  shown: readonly string[] = Object.keys(initialValues),
): Fields<Values> {
  const form = useForm<Values>({
    mode: "controlled",
    initialValues,
    // The checks are by field; the library's type also allows nested ones.
    validate: checks as never,
  });
  const focusFirst = (errors: FormErrors) => {
    const [name] = Object.keys(errors);
    if (name !== undefined) form.getInputNode(name)?.focus();
  };
  const split = (failure: Failure) => fieldErrors(failure, shown);
  function take(failure: Failure): void {
    const { fields } = split(failure);
    form.setErrors(fields);
    focusFirst(fields);
  }
  return {
    ...form,
    submit: (send) =>
      form.onSubmit((values) => {
        void send(values)?.then((outcome) => outcome?.ok === false && take(outcome.failure));
      }, focusFirst),
    take,
    general: (failure) => (failure && split(failure).general !== undefined ? failure : undefined),
  };
}
