import { type FormErrors, useForm, type UseFormReturnType } from "@mantine/form";
import { type Failure, fieldErrors } from "../failure.ts";
import type { Outcome } from "../use-action.ts";

export type Checks<Values> = {
  [Name in keyof Values]?: (value: Values[Name], all: Values) => string | null;
};

export type Fields<Values extends Record<string, unknown>> = UseFormReturnType<Values> & {
  /**
   * Sends the form. If a field is wrong, focuses the first such field. If `send` returns a failure,
   * its details are shown at the fields.
   */
  submit: (
    send: (values: Values) => void | Promise<Outcome<unknown> | undefined>,
  ) => (event?: React.SubmitEvent<HTMLFormElement>) => void;
  /** Shows a failure's details at the fields. */
  take: (failure: Failure) => void;
  /** The failure, unless the fields show all of it, even if they have changed since. */
  general: (failure: Failure | undefined) => Failure | undefined;
};

/** The fields of a form, their checks, and the focus on the first wrong one. */
export function useFields<Values extends Record<string, unknown>>(
  initialValues: Values,
  checks: Checks<Values>,
  /** The fields on the page: errors of others become general ones. */
  shown: readonly string[] = Object.keys(initialValues),
): Fields<Values> {
  const form = useForm<Values>({
    mode: "controlled",
    initialValues,
    // The checks are per field; the library's type also allows nested ones.
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
