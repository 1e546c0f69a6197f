// An agent on the official SDK's server: it asks for a size, and orders. `node server.mjs PORT EFFECTS`.
// Each order is a line of the file EFFECTS, each cancelled task the line "cancelled".
import { appendFileSync } from 'node:fs'
import { randomUUID } from 'node:crypto'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'

const [port, effects] = process.argv.slice(2)
const base = `http://127.0.0.1:${port}`
// Numbers of states in protocol buffers.
const [WORKING, COMPLETED, CANCELED, INPUT_REQUIRED] = [2, 3, 5, 6]
const SCHEMA = { type: 'object', required: ['size'], properties: { size: { type: 'string', enum: ['S', 'M'] } } }

const part = ($case, value) => ({ content: { $case, value }, metadata: undefined, filename: '', mediaType: '' })
const note = (line) => appendFileSync(effects, JSON.stringify(line) + '\n')

class Shop {
  cancelled = new Promise((resolve) => (this.cancel = resolve))

  async execute(context, bus) {
    const { taskId, contextId, userMessage } = context
    const status = (state, ...parts) => ({
      state,
      timestamp: new Date().toISOString(),
      message: parts.length === 0 ? undefined : {
        messageId: randomUUID(), taskId, contextId, role: 2, parts,
        metadata: undefined, extensions: [], referenceTaskIds: [],
      },
    })
    const told = (next) => bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: next, metadata: undefined }))
    const task = context.task ?? {
      id: taskId, contextId, status: status(WORKING), artifacts: [], history: [userMessage], metadata: undefined,
    }
    bus.publish(AgentEvent.task(task))
    const [text] = userMessage.parts.flatMap(({ content }) => (content.$case === 'text' ? [content.value] : []))
    const [data] = userMessage.parts.flatMap(({ content }) => (content.$case === 'data' ? [content.value] : []))
    if (data !== undefined) {
      note(data)
      told(status(COMPLETED, part('text', `Ordered in ${data.size}.`)))
    } else if (text === 'slow') {
      told(status(WORKING, part('text', 'Working.')))
      await this.cancelled
    } else {
      told(status(INPUT_REQUIRED, part('text', 'Which size?'), part('data', { schema: SCHEMA })))
    }
    bus.finished()
  }

  async cancelTask(taskId, bus) {
    note('cancelled')
    this.cancel()
    const status = { state: CANCELED, timestamp: new Date().toISOString(), message: undefined }
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined }))
    bus.finished()
  }
}

const card = {
  name: 'Shop', description: 'Orders in a size.', version: '1', provider: undefined, documentationUrl: '', iconUrl: '',
  supportedInterfaces: [
    { url: `${base}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
    { url: `${base}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
  ],
  capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: false, extensions: [] },
  securitySchemes: {}, securityRequirements: [], defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [], signatures: [],
}
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), new Shop())
const userBuilder = UserBuilder.noAuthentication
const app = express()
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
app.use('/rest', restHandler({ requestHandler, userBuilder }))
app.listen(Number(port), '127.0.0.1', () => console.log('listening'))
