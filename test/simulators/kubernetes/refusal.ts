import { typeOf } from '#test/simulators/kubernetes/resource.ts';

/** A request that the API server refuses: `meta/v1.Status` with its reason. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly reason: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(status: number, reason: string, message: string, details: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.reason = reason;
    this.details = details;
  }
}

export function notFound(plural: string, name: string): Refusal {
  const { group } = typeOf(plural);
  const resource = group === '' ? plural : `${plural}.${group}`;
  const details = { name, ...(group === '' ? {} : { group }), kind: plural };
  return new Refusal(404, 'NotFound', `${resource} "${name}" not found`, details);
}

export function conflict(plural: string, name: string, why: string): Refusal {
  return new Refusal(409, 'Conflict', `Operation cannot be fulfilled on ${plural} "${name}": ${why}`, {
    name,
    kind: plural,
  });
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, 'BadRequest', message);
}

export function statusBody({ status, reason, message, details }: Refusal): Record<string, unknown> {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, details, code: status };
}
