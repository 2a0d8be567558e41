import { keepMasked } from '#conductor/kernel/secrets/mask-document.ts';
import { type DocumentPlace, openDocument, sealWritten } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { type RequestedStep, stepKey } from '#conductor/model/planned-step.ts';

export function templatePlace(templateUuid: string): DocumentPlace {
  return `deploy template ${templateUuid} args`;
}

/**
 * A template's steps as an operator writes them, the secrets in their arguments sealed; `******` keeps what the step of
 * that name had.
 * @throws AppError `invalid_argument` naming a value that begins as sealed ones do.
 */
export function sealSteps(
  secrets: Secrets,
  uuid: string,
  steps: readonly RequestedStep[],
  before: readonly RequestedStep[] = [],
): RequestedStep[] {
  const known = new Map(before.map((step) => [stepKey(step), step.args]));
  return steps.map((step) => {
    const own = known.get(stepKey(step)) ?? {};
    return { ...step, args: sealWritten(secrets, keepMasked(step.args, own), templatePlace(uuid), { before: own }) };
  });
}

export function openTemplate<Template extends { readonly uuid: string; readonly steps: readonly RequestedStep[] }>(
  secrets: Secrets,
  template: Template,
): Template {
  const steps = template.steps.map((step) => ({
    ...step,
    args: openDocument(secrets, step.args, templatePlace(template.uuid)),
  }));
  return { ...template, steps };
}
