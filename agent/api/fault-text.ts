import type { ApiAnswer } from '#agent/api/api-client.ts';

/**
 * Finds the text of what an API answer says went wrong, for logs: `409: Node is locked …`. Ironic wraps it as JSON in a
 * string (`{"error_message": "{\"faultstring\": …}"}`), others give the object itself or `title`.
 */
export function faultText(answer: ApiAnswer): string {
  const text = findText(answer.body);
  return text === undefined ? String(answer.status) : `${answer.status}: ${text}`;
}

function findText(body: unknown): string | undefined {
  if (typeof body === 'string') {
    const inner = parse(body);
    return inner === undefined ? body : findText(inner);
  }
  if (typeof body !== 'object' || body === null) return undefined;
  const { error_message: wrapped, faultstring, title } = body as Record<string, unknown>;
  if (typeof faultstring === 'string') return faultstring;
  return findText(wrapped) ?? (typeof title === 'string' ? title : undefined);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // plain text: it is the message itself
  }
}
