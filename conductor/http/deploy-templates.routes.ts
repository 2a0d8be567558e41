import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { DeployTemplate as DeployTemplateAnswer } from '#conductor/api/node-parts.ts';
import { pageOf } from '#conductor/api/values.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { chooseFields, chooseListFields, type FieldSet, plainListQuery } from '#conductor/http/field-choice.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { nextPage, parsePaging } from '#conductor/http/paging.ts';
import { answers, jsonBody } from '#conductor/http/query-values.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { changeTemplate, createTemplate } from '#conductor/templates/change-template.ts';
import {
  type DeployTemplate,
  defaultTemplateListFields,
  TemplateDescription,
  type TemplateField,
  templateFields,
  viewTemplate,
} from '#conductor/templates/template-fields.ts';
import { deleteTemplate, getTemplate, listTemplates } from '#conductor/templates/template-store.ts';

const tags = ['deploy templates'];
const since = 55;
const path = '/v1/deploy_templates';
const onePath = `${path}/{template}`;
/** UUID or name. */
const TemplateParams = z.object({ template: z.string() });
const fieldSet: FieldSet<TemplateField> = {
  what: 'deploy template',
  all: templateFields,
  listed: defaultTemplateListFields,
};

const list = createRoute({
  method: 'get',
  path,
  tags,
  summary: 'List deploy templates',
  request: { query: z.strictObject(plainListQuery) },
  responses: answers(
    200,
    'templates, and the address of the next page when this one is full',
    pageOf('deploy_templates', DeployTemplateAnswer),
  ),
});

const CreateBody = TemplateDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).nullish() });

const create = createRoute({
  method: 'post',
  path,
  tags,
  summary: 'Prepare steps under the name of a trait',
  request: { body: jsonBody(CreateBody) },
  responses: answers(201, 'the template', DeployTemplateAnswer),
});

const show = createRoute({
  method: 'get',
  path: onePath,
  tags,
  summary: 'Show a deploy template',
  request: { params: TemplateParams, query: z.strictObject({ fields: z.string().optional() }) },
  responses: answers(200, 'the template', DeployTemplateAnswer),
});

const change = createRoute({
  method: 'patch',
  path: onePath,
  tags,
  summary: 'Change a deploy template by JSON patch',
  request: { params: TemplateParams, body: jsonBody(JsonPatch) },
  responses: answers(200, 'the whole template', DeployTemplateAnswer),
});

const remove = createRoute({
  method: 'delete',
  path: onePath,
  tags,
  summary: 'Delete a deploy template; flows that are planned already keep its steps',
  request: { params: TemplateParams },
  responses: answers(204, 'gone'),
});

/** `/v1/deploy_templates`. */
export function deployTemplateRoutes(context: Pick<HttpContext, 'db' | 'secrets'>): ApiApp {
  const { db } = context;
  const app = newApiApp();
  const answer = (c: Context<ApiEnv>, template: DeployTemplate, fields?: readonly TemplateField[]) => ({
    ...viewTemplate(template, fields),
    links: linksTo(originOf(c), `deploy_templates/${template.uuid}`),
  });

  app.openapi(list, async (c) => {
    requireEndpoint(c.get('version'), since);
    const query = c.req.valid('query');
    const fields = chooseListFields(query, fieldSet);
    const paging = parsePaging(query);
    if (paging.marker !== undefined) await getTemplate(db, paging.marker);
    const rows = await listTemplates(db, paging);
    return c.json({
      deploy_templates: rows.map((row) => answer(c, row, fields)),
      ...nextPage(c, path, paging, rows),
    });
  });

  app.openapi(create, async (c) => {
    requireEndpoint(c.get('version'), since);
    const { uuid, ...description } = c.req.valid('json');
    const template = await createTemplate(context, description, uuid?.toLowerCase());
    c.header('Location', `${originOf(c)}${path}/${template.uuid}`);
    return c.json(answer(c, template), 201);
  });

  app.openapi(show, async (c) => {
    requireEndpoint(c.get('version'), since);
    const fields = chooseFields(c.req.valid('query').fields, fieldSet);
    return c.json(answer(c, await getTemplate(db, c.req.valid('param').template), fields));
  });

  app.openapi(change, async (c) => {
    requireEndpoint(c.get('version'), since);
    return c.json(answer(c, await changeTemplate(context, c.req.valid('param').template, c.req.valid('json'))));
  });

  app.openapi(remove, async (c) => {
    requireEndpoint(c.get('version'), since);
    const { uuid } = await getTemplate(db, c.req.valid('param').template);
    await deleteTemplate(db, uuid);
    return c.body(null, 204);
  });

  return app;
}
