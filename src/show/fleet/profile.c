/* SPDX-License-Identifier: MIT
 * Profiles of pprof over HTTP, in the forms that Pyroscope and Parca document.
 * Host. */
#include "show/fleet/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "host/base/base64.h"
#include "host/base/path.h"
#include "show/fleet/http.h"

#define BOUNDARY "heapwise-profile-part"
#define PARCA_PATH "/profiles/writeraw"

/* What the values of a sample are; what is live is a level and not a sum. */
static const char sample_types[] =
	"{\"alloc_objects\":{\"units\":\"objects\",\"aggregation\":\"sum\",\"display-name\":"
	"\"alloc_objects\",\"sampled\":false},"
	"\"alloc_space\":{\"units\":\"bytes\",\"aggregation\":\"sum\",\"display-name\":\"alloc_"
	"space\",\"sampled\":false},"
	"\"inuse_objects\":{\"units\":\"objects\",\"aggregation\":\"average\",\"display-name\":"
	"\"inuse_objects\",\"sampled\":false},"
	"\"inuse_space\":{\"units\":\"bytes\",\"aggregation\":\"average\",\"display-name\":\"inuse_"
	"space\",\"sampled\":false}}";

bool profile_is_address(const char *address)
{
	return strncmp(address, "pprof+http://", 13) == 0 ||
	       strncmp(address, "pprof+https://", 14) == 0;
}

/* ---- addresses ---- */

static const char *basic(struct profile_server *self, const char *user)
{
	const char *secret = getenv("HEAPWISE_PASSWORD");
	struct strbuf both = {0}, header = {0};
	const char *kept = NULL;
	char *text;

	strbuf_add(&both, user);
	if (!strchr(user, ':'))
		strbuf_addf(&both, ":%s", secret ? secret : "");
	text = both.failed ? NULL : base64_text((const u8 *)both.text, both.count);
	if (text)
		strbuf_addf(&header, "Authorization: Basic %s", text);
	if (text && !header.failed)
		kept = arena_copy(&self->arena, strbuf_text(&header));
	free(text);
	strbuf_release(&both);
	strbuf_release(&header);
	return kept;
}

int profile_open(struct profile_server *self, const char *address, struct err *err)
{
	char *text = arena_copy(&self->arena, address + strlen("pprof+")), *host, *path, *at;
	struct strbuf url = {0};

	self->curl = http_new(err);
	if (!self->curl)
		return err->code;
	if (!text)
		return err_memory_for(err, "the profile");
	host = strstr(text, "://") + 3;
	path = strchr(host, '/');
	if (path)
		*path++ = 0;
	at = strrchr(host, '@');
	if (at) {
		*at = 0;
		self->authorization = basic(self, host);
		if (!self->authorization)
			return err_memory_for(err, "the profile");
	}
	self->where = at ? at + 1 : host;
	if (!*self->where)
		return err_set(err, ERR_USAGE,
			       "the address has no host; expected pprof+http://HOST:PORT/PATH");
	*(strstr(text, "://")) = 0;
	strbuf_addf(&url, "%s://%s/%s", text, self->where, path && *path ? path : "ingest");
	self->url = url.failed ? NULL : arena_copy(&self->arena, strbuf_text(&url));
	self->parca = url.count >= strlen(PARCA_PATH) &&
		      strcmp(strbuf_text(&url) + url.count - strlen(PARCA_PATH), PARCA_PATH) == 0;
	strbuf_release(&url);
	return self->url ? 0 : err_memory_for(err, "the profile");
}

void profile_close(struct profile_server *self)
{
	http_free(self->curl);
	arena_release(&self->arena);
	memset(self, 0, sizeof *self);
}

/* ---- labels ---- */

struct label {
	char key[64];
	const char *value;
};

enum { LABELS_MAX = 8 + 32 };

struct labels {
	struct label rows[LABELS_MAX];
	u32 count;
	struct strbuf build_id;
};

/* Names of labels are letters, digits and _; others become _. */
static void add_label(struct labels *self, const char *key, u64 length, const char *value)
{
	struct label *label = &self->rows[self->count];

	if (self->count == LABELS_MAX || !*value || !length)
		return;
	length = length < sizeof label->key - 1 ? length : sizeof label->key - 1;
	for (u64 i = 0; i < length; i++)
		label->key[i] = isalnum((u8)key[i]) && (i || !isdigit((u8)key[i])) ? key[i] : '_';
	label->key[length] = 0;
	label->value = value;
	self->count++;
}

static void make_labels(struct labels *self, const struct run_source *source)
{
	const struct run_about *about = source->about;

	add_label(self, "host", 4, about->host);
	add_label(self, "build_id", 8, run_build(source, &self->build_id));
	add_label(self, "version", 7, about->version);
	for (u32 i = 0; i < about->label_count; i++) {
		const char *equal = strchr(about->labels[i], '=');

		if (equal)
			add_label(self, about->labels[i], (u64)(equal - about->labels[i]),
				  equal + 1);
	}
}

static const char *program_name(const struct run_source *source)
{
	return path_file(source->job->stacks.model->image.program);
}

/* ---- bodies ---- */

/* What ends a name or a value in NAME{key=value,…} cannot be in one. */
static void add_clean(struct strbuf *out, const char *text)
{
	for (; *text; text++)
		strbuf_add_char(out, strchr(",{}=", *text) ? '_' : *text);
}

/* Pyroscope: NAME{key=value,…} and times in the address, the profile as a part of a form. */
static void pyroscope_url(const struct profile_server *self, const struct run_source *source,
			  const struct labels *labels, struct strbuf *url)
{
	u64 until = source->about->time;
	u64 seconds = (model_duration_ns(source->job->stacks.model) + 999999999) / 1000000000;
	struct strbuf name = {0};

	add_clean(&name, program_name(source));
	strbuf_add(&name, "{");
	for (u32 i = 0; i < labels->count; i++) {
		strbuf_addf(&name, "%s%s=", i ? "," : "", labels->rows[i].key);
		add_clean(&name, labels->rows[i].value);
	}
	strbuf_add(&name, "}");
	strbuf_addf(url, "%s?name=", self->url);
	http_escape(url, strbuf_text(&name));
	strbuf_addf(url, "&from=%llu&until=%llu&format=pprof&spyName=heapwise",
		    (unsigned long long)(until - (seconds < until ? seconds : until)),
		    (unsigned long long)until);
	url->failed |= name.failed;
	strbuf_release(&name);
}

static void form_part(struct strbuf *body, const char *name, const char *file, const void *bytes,
		      u64 count)
{
	strbuf_addf(body,
		    "--" BOUNDARY
		    "\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
		    "Content-Type: application/octet-stream\r\n\r\n",
		    name, file);
	strbuf_add_bytes(body, bytes, count);
	strbuf_add(body, "\r\n");
}

static void pyroscope_body(const char *profile, u64 bytes, struct strbuf *body)
{
	form_part(body, "profile", "profile.pprof", profile, bytes);
	form_part(body, "sample_type_config", "sample_type_config.json", sample_types,
		  strlen(sample_types));
	strbuf_add(body, "--" BOUNDARY "--\r\n");
}

static void add_json_text(struct strbuf *body, const char *text)
{
	strbuf_add_char(body, '"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			strbuf_addf(body, "\\%c", *text);
		else if ((u8)*text < 0x20)
			strbuf_addf(body, "\\u%04x", *text);
		else
			strbuf_add_char(body, *text);
	strbuf_add_char(body, '"');
}

static void parca_label(struct strbuf *body, const char *name, const char *value)
{
	strbuf_add(body, "{\"name\":");
	add_json_text(body, name);
	strbuf_add(body, ",\"value\":");
	add_json_text(body, value);
	strbuf_add(body, "}");
}

/* Parca: WriteRawRequest as JSON. */
static void parca_body(const struct run_source *source, const struct labels *labels,
		       const char *profile, u64 bytes, struct strbuf *body)
{
	char *text = base64_text((const u8 *)profile, bytes);

	strbuf_add(body, "{\"series\":[{\"labels\":{\"labels\":[");
	parca_label(body, "__name__", "memory");
	strbuf_add(body, ",");
	parca_label(body, "job", program_name(source));
	for (u32 i = 0; i < labels->count; i++) {
		strbuf_add(body, ",");
		parca_label(body, labels->rows[i].key, labels->rows[i].value);
	}
	strbuf_addf(body, "]},\"samples\":[{\"rawProfile\":\"%s\"}]}],\"normalized\":false}",
		    text ? text : "");
	body->failed |= !text;
	free(text);
}

static int send_profile(struct profile_server *self, const struct run_source *source,
			const char *profile, u64 bytes, struct err *err)
{
	const char *headers[3] = {self->parca
					  ? "Content-Type: application/json"
					  : "Content-Type: multipart/form-data; boundary=" BOUNDARY,
				  self->authorization};
	struct strbuf url = {0}, body = {0}, answer = {0};
	struct http_request request = {.where = self->where,
				       .headers = headers,
				       .answer_max = HTTP_SHORT};
	struct labels labels = {0};
	int status;

	make_labels(&labels, source);
	if (self->parca) {
		strbuf_add(&url, self->url);
		parca_body(source, &labels, profile, bytes, &body);
	} else {
		pyroscope_url(self, source, &labels, &url);
		pyroscope_body(profile, bytes, &body);
	}
	request.url = strbuf_text(&url);
	request.body = strbuf_text(&body);
	request.bytes = body.count;
	status = url.failed || body.failed ? err_memory_for(err, "the profile")
					   : http_post(self->curl, &request, &answer, err);
	if (status >= 0 && (status < 200 || status > 299)) {
		if (answer.count)
			answer.text[strcspn(answer.text, "\r\n")] = 0;
		status = err_set(err, status == 401 || status == 403 ? ERR_INPUT : ERR_SYSTEM,
				 "%s rejected the profile with HTTP status %d%s%.200s", self->where,
				 status, answer.count ? ": " : "", strbuf_text(&answer));
	}
	self->raw_bytes += status >= 0 ? bytes : 0;
	strbuf_release(&url);
	strbuf_release(&body);
	strbuf_release(&answer);
	strbuf_release(&labels.build_id);
	return status < 0 ? status : 0;
}

int profile_push(struct profile_server *self, const struct run_source *source, struct err *err)
{
	char *profile = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&profile, &bytes);
	int status = out ? pprof_export(source->job, out, err) : err_memory_for(err, "the profile");

	if (out && fclose(out) != 0 && status == 0)
		status = err_memory_for(err, "the profile");
	if (status == 0)
		status = send_profile(self, source, profile, bytes, err);
	free(profile);
	return status;
}
