import type { z } from 'zod';
import { type ApiApp, canonicalPath } from '#conductor/http/routing/define-routes.ts';

interface Operation {
  readonly method: string;
  readonly path: RegExp;
  /** Name for people: `GET /v1/nodes/{node}`. */
  readonly name: string;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema?: unknown }>> }>>;
}

/**
 * Holds every success answer of an app against the schema that its route declares, strictly: what no schema names fails, and
 * so does a body where none is declared. Answers of paths outside the API's description are let pass.
 */
export function answerCheck(app: ApiApp): (method: string, url: string, answer: Response) => Promise<void> {
  const operations = app.openAPIRegistry.definitions.flatMap((definition): Operation[] => {
    if (definition.type !== 'route') return [];
    const { method, path, responses } = definition.route;
    const pattern = path.replaceAll(/[.]/g, String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+');
    const name = `${method.toUpperCase()} ${path}`;
    return [{ method, path: new RegExp(`^${pattern}$`), name, responses: responses as Operation['responses'] }];
  });
  return async (method, url, answer) => {
    if (!answer.ok) return;
    const path = canonicalPath(new URL(url).pathname);
    const operation = operations.find((each) => each.method === method.toLowerCase() && each.path.test(path));
    if (!operation) return;
    const { name, responses } = operation;
    const type = answer.headers.get('content-type') ?? '';
    if (type === 'text/event-stream' && responses[answer.status]?.content?.[type]) return; // it has no end
    const text = await answer.clone().text();
    const content = responses[answer.status]?.content;
    if (content === undefined) {
      if (text !== '' || !responses[answer.status]) throw new Error(`${name}: ${answer.status} has no schema: ${text}`);
      return;
    }
    const json = content['application/json'];
    if (!type.startsWith('application/json')) return;
    if (!json) throw new Error(`${name}: ${answer.status} is declared to be ${Object.keys(content).join()}, not JSON`);
    const { error } = (json.schema as z.ZodType).safeParse(JSON.parse(text));
    if (error) throw new Error(`${name}: ${answer.status} is not what its schema says: ${error.message}\n${text}`);
  };
}
